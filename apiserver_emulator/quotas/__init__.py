"""ResourceQuota: what objects use, and the admission that charges it. `controllers.quotas` recalculates it."""
