"""What Hone uses of libraries beyond their public interfaces: one file per library, and nowhere else.

Each file says why it reaches in and which public way was looked for. Importing it fails where another version
than the pinned one is installed. docs/releasing.md lists the names, to be checked before a pin is raised.
"""
