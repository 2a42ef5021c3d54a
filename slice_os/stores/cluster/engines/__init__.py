"""The engines that a cluster may run: what differs between them, each in a module of its own."""
