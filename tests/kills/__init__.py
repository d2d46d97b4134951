"""The refund agent under SIGKILL at marked points, on SQLite and on the local AWS."""
