// A function without a body needs an assembly file in its package.
