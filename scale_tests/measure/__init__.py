"""What every measurement leaves in `build/results`, whatever it measured.

`document` writes NAME.json: of what (`versions`), where, the raw figures, and the claims (`bars`)
that they are held to; `tables` and `pictures` show them to people.
"""
