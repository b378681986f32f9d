"""What is known of a program: facts about integers, activity, capacities, sparsity, last stores."""
