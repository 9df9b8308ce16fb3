"""What is read before an asynchronous copy towards the host has arrived (TNP204)."""
