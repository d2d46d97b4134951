"""An agent that refunds money after somebody has said yes."""
