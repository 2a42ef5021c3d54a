"""The resources of the service: a file each, with its requests and answers."""
