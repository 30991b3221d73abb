"""Values of records as rows: their forms, the types of their fields, and the columns they fill."""
