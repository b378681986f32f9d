"""Functions made from functions (grad, vjp, vmap, jacobian...), inside compiled code."""
