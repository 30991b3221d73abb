"""The actions of published versions, as Delta's protocol has them."""
