"""Synthetic training text for the starter model: sentences about an online shop, by theme.

Each passage has one theme, so that the model learns which words are related. No passage assigns a
message to a team or replies to one; fine-tuning teaches that.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

# The nouns, predicates, people and remarks of each theme.
THEMES: tuple[dict[str, tuple[str, ...]], ...] = (
    {
        "things": ("parcel", "package", "delivery", "order", "box", "shipment"),
        "events": (
            "has not arrived",
            "is late again",
            "is still on its way",
            "got lost in the post",
            "never came to the door",
            "was last seen at the depot",
            "left the warehouse a week ago",
            "shows no movement in the tracking",
        ),
        "people": ("courier", "driver", "depot", "carrier", "post office"),
        "remarks": (
            "the {people} has no news of the {things}",
            "people wait at the window for the {things}",
            "nobody knows where the {things} is",
            "a late {things} is a sad {things}",
            "we look for a lost {things} and trace it from depot to depot",
            "the {people} lost the {things} on the road",
        ),
    },
    {
        "things": ("address", "street", "house number", "postcode", "flat number", "town"),
        "events": (
            "is wrong on the label",
            "has a mistake in it",
            "is the old one",
            "has changed since we moved house",
            "was typed badly",
            "must be corrected before dispatch",
            "belongs to my old home",
        ),
        "people": ("neighbour", "landlord", "family", "office", "new tenant"),
        "remarks": (
            "the {people} moved to another {things}",
            "with a wrong {things} the van goes to the wrong door",
            "we correct the {things} before the van leaves",
            "the {people} moved house and gave the old {things}",
            "a letter needs a {things} and a name",
        ),
    },
    {
        "things": ("cup", "lamp", "plate", "mirror", "chair", "vase", "kettle"),
        "events": (
            "was broken in the box",
            "came with a crack",
            "arrived smashed",
            "has a deep scratch",
            "is damaged on one side",
            "fell to pieces",
            "had a dent when it was opened",
        ),
        "people": ("packer", "shop", "buyer", "maker", "workshop"),
        "remarks": (
            "glass and a broken {things} lay on the floor",
            "the {people} sends a new {things} for a broken one",
            "a {things} with a crack is of no use",
            "the {people} wrapped the {things} in too little paper",
            "nobody can mend a smashed {things}",
        ),
    },
    {
        "things": ("jacket", "shirt", "pair of shoes", "coat", "dress", "sweater"),
        "events": (
            "is too small",
            "is too large",
            "does not fit",
            "is the wrong size",
            "is too tight at the shoulders",
            "looks different from the picture",
            "has the wrong colour",
        ),
        "people": ("tailor", "buyer", "shop", "customer", "cousin"),
        "remarks": (
            "the {people} sends the {things} back in the same bag",
            "a return label goes on the bag with the {things}",
            "the {people} needs the {things} in a larger size",
            "a {things} of the wrong size goes back to the shop",
            "the colour of the {things} is not what the {people} wanted",
        ),
    },
    {
        "things": ("card", "bank account", "payment", "charge", "money", "fee"),
        "events": (
            "was taken twice",
            "was charged two times",
            "was debited again by mistake",
            "shows the same amount twice",
            "is too high this month",
            "was billed double",
            "left the account a second time",
        ),
        "people": ("bank", "cashier", "bookkeeper", "owner", "clerk"),
        "remarks": (
            "the {people} gives back the {things} that was taken twice",
            "two times the same {things} is one time too many",
            "a refund of the second {things} comes from the {people}",
            "the {people} counts the {things} on the statement again",
            "a double {things} makes the customer angry",
        ),
    },
    {
        "things": ("invoice", "receipt", "bill", "tax paper", "statement"),
        "events": (
            "is missing from the mail",
            "was never sent",
            "is needed for the tax office",
            "has to go to the bookkeeping",
            "must show the company name",
            "is not in the folder",
            "could not be found",
        ),
        "people": ("accountant", "tax office", "company", "boss", "bookkeeper"),
        "remarks": (
            "the {people} asks for a copy of the {things}",
            "without the {things} the {people} cannot close the year",
            "the {things} as a file is enough for the {people}",
            "the {people} keeps every {things} in a folder",
            "a {things} on paper must be signed for the {people}",
        ),
    },
    {
        "things": ("password", "login", "sign in page", "code", "secret word"),
        "events": (
            "is forgotten",
            "does not work any more",
            "was refused three times",
            "is not accepted",
            "locked me out",
            "has expired",
            "was mistyped too often",
        ),
        "people": ("user", "member", "visitor", "guard", "reader"),
        "remarks": (
            "the {people} cannot log in without the {things}",
            "a link to reset the {things} comes by mail",
            "the {people} is locked out and needs a new {things}",
            "the {people} forgot the {things} over the summer",
            "nobody should write the {things} on paper",
        ),
    },
    {
        "things": ("account", "profile", "membership", "subscription", "user data"),
        "events": (
            "should be deleted",
            "is to be closed",
            "must be removed for good",
            "is no longer wanted",
            "should end this month",
            "was cancelled by its owner",
            "has to be erased",
        ),
        "people": ("member", "subscriber", "owner", "reader", "guest"),
        "remarks": (
            "the {people} leaves and wants the {things} deleted",
            "to cancel a {things} the {people} writes a letter",
            "we close the {things} and erase all data",
            "the {people} has no use for the {things} any more",
            "after the end of the {things} nothing is kept",
        ),
    },
    {
        "things": ("app", "program", "screen", "page", "website", "software"),
        "events": (
            "crashes at the start",
            "freezes all the time",
            "closes by itself",
            "shows an error",
            "hangs after a minute",
            "stays white and empty",
            "stops when it opens a picture",
        ),
        "people": ("tablet", "phone", "laptop", "computer", "developer"),
        "remarks": (
            "an update of the {things} helps the {people}",
            "the {things} on the {people} is too old and crashes",
            "the {things} froze and the {people} grew hot",
            "an error in the {things} made the {people} hang",
            "a new version of the {things} was installed on the {people}",
        ),
    },
    {
        "things": ("speaker", "router", "camera", "printer", "device", "headset"),
        "events": (
            "cannot find the network",
            "does not connect",
            "loses the wireless signal",
            "drops the connection",
            "is always offline",
            "does not pair",
            "blinks red and has no signal",
        ),
        "people": ("wireless network", "cable", "antenna", "wall", "signal"),
        "remarks": (
            "the {people} is too weak for the {things}",
            "to restart the {things} one pulls the plug",
            "the {things} and the {people} do not talk to each other",
            "after a restart the {things} is online again",
            "the {things} went offline when the {people} failed",
        ),
    },
)

OWNERS = ("my", "the", "our", "her", "his", "your", "their", "this", "that")
FEELINGS = ("angry", "sad", "calm", "glad", "tired", "patient", "worried", "surprised")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
TIMES = ("today", "yesterday", "this morning", "last week", "since {day}", "on {day}", "again", "now")
WISHES = (
    "please help me with that",
    "what should I do",
    "can you look into it",
    "I hope for a quick answer",
    "thank you for your help",
    "we will write to you today",
    "please check it",
    "we will take care of it",
)


def sentence(theme: dict[str, tuple[str, ...]], rng: random.Random) -> str:
    """Returns one sentence on a theme, capitalized and with punctuation."""
    thing = rng.choice(theme["things"])
    kind = rng.random()
    if kind < 0.5:
        text = f"{rng.choice(OWNERS)} {thing} {rng.choice(theme['events'])}"
        if rng.random() < 0.4:
            text += " " + rng.choice(TIMES).format(day=rng.choice(DAYS))
    elif kind < 0.85:
        text = rng.choice(theme["remarks"]).format(things=thing, people=rng.choice(theme["people"]))
    elif kind < 0.93:
        text = f"the {rng.choice(theme['people'])} was {rng.choice(FEELINGS)} about the {thing}"
    else:
        text = rng.choice(WISHES)
    return text[0].upper() + text[1:] + rng.choice((".", ".", ".", "!", "?"))


# Layouts of a passage. The theme continues below a heading, so that the model learns to attend to
# the text above it.
HEADINGS = (
    ("Instruction", "Response"),
    ("Question", "Answer"),
    ("User", "Assistant"),
    ("Input", "Output"),
    ("Text", "Note"),
    ("Message", "Reply"),
)
LABELS = ("Monday", "Tuesday", "Friday", "Morning", "Evening", "Kitchen", "Garden", "Notes")
LAYOUTS = (
    "{first} {second}",
    "{first}\n{second}",
    "{first}\n\n{second}",
    "### {above}:\n{first}\n\n### {below}:\n{second}",
    "### {above}:\n{first}\n\n### {below}:\n{below_word}: {second}",
    "{above}: {first}\n{below}: {second}",
    "{above}: {first}\n\n{below}:\n{second}",
)


def passages(count: int, seed: int) -> Iterator[str]:
    """Yields `count` passages of two to four sentences, determined by `seed`."""
    rng = random.Random(seed)
    for _ in range(count):
        theme = rng.choice(THEMES)
        above, below = rng.choice(HEADINGS)
        yield rng.choice(LAYOUTS).format(
            first=" ".join(sentence(theme, rng) for _ in range(rng.randint(1, 2))),
            second=" ".join(sentence(theme, rng) for _ in range(rng.randint(1, 2))),
            above=above,
            below=below,
            below_word=rng.choice(LABELS),
        )
