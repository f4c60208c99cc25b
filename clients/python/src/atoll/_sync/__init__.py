# Made by `npm run clients` from _async/__init__.py. Not to be edited.
