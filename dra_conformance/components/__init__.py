"""Who sits where: the components of a DRA system, what can hold them, and how it is started, stopped and killed."""
