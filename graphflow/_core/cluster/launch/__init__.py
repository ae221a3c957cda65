"""Starting the processes of a cluster."""
