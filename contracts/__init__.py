"""One file per instruction family; imported as `tilecheck.contracts.<family>`."""
