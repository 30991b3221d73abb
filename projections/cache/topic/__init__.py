"""The topic of cache rows: one host publishes them, others read them into memory."""
