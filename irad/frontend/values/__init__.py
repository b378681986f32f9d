"""What variables hold while a function is read: arrays, numbers, objects, captured state and its guards."""
