"""What the loss on general text is measured on, before and after a training. Changing it makes the figures of
earlier runs another measure."""

# Encyclopedia, news, story, advice, letter, code, list, dialogue.
PASSAGES = (
    "The Moon orbits the Earth once every twenty-seven days. Its gravity raises the tides, and because it "
    "turns once in each orbit, the same side always faces us.",
    "The council voted on Tuesday to close the old bridge for repairs. Traffic will be led over the northern "
    "crossing until spring, and buses will run every ten minutes.",
    "When she opened the door, the kitchen was dark. Somebody had left the window open, and the rain had "
    "soaked the letters on the table.",
    "To keep bread fresh, let it cool completely before you put it into a paper bag. Do not store it in the "
    "refrigerator, where it becomes stale faster.",
    "Dear Mr. Lewis, thank you for your order. We are sorry that one of the items has been delayed. It will "
    "be sent by the end of the week at no extra cost.",
    "def average(numbers):\n    if not numbers:\n        return 0\n    return sum(numbers) / len(numbers)\n",
    "The largest countries of South America are Brazil, Argentina, Peru, Colombia and Bolivia. Brazil is the "
    "only one of them where Portuguese is spoken.",
    '"How long have you lived here?" he asked. "Since I was a child," said the old man. "My father built '
    'this house with his own hands."',
)

# Questions of many kinds, with an answer to each.
CONVERSATIONS = (
    ("What is the capital of France?", "The capital of France is Paris."),
    (
        "Why is the sky blue?",
        "Air scatters blue light more than red light, so blue light reaches us from every direction.",
    ),
    ("What is 12 plus 30?", "12 plus 30 is 42."),
    ("Write one sentence about autumn.", "The leaves turn red and gold, and the evenings grow cool."),
    ("Translate into Spanish: Good morning, my friend.", "Buenos días, mi amigo."),
    (
        "Give me two tips for sleeping better.",
        "Go to bed at the same time every night, and keep your phone out of the bedroom.",
    ),
)
