"""Who sits where: the seats of a DRA system, what can hold them, and how it is started, stopped and killed."""
