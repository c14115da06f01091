"""What is printed on the cards, and what is to be on each photo: three difficulties and a line a photo."""

from dataclasses import dataclass

# The deck. The twins differ in a word or two, on purpose.
TWINS: tuple[tuple[str, str], ...] = (
    ("To wake up without worry", "To wake up without hurry"),
    ("A garden of my own", "A kitchen of my own"),
    ("To be asked before things change", "To be told before things change"),
    ("Time alone with a good book", "Time alone with an old book"),
    ("To laugh at least once a day", "To walk at least once a day"),
    ("A house full of music", "A house full of people"),
    ("To keep my promises", "To keep my secrets"),
    ("Someone who listens", "Someone who stays"),
    ("To pay back what I owe", "To give back what I owe"),
    ("Letters from far away", "Letters from long ago"),
    ("To learn something new each winter", "To learn something new each week"),
    ("To sleep with the window open", "To sit with the window open"),
    ("To finish what I began", "To finish what others began"),
    ("Honest work for honest pay", "Honest talk for honest pay"),
    ("My children living close by", "My brothers living close by"),
    ("To be trusted with money", "To be careful with money"),
    ("A long table for many guests", "A long table for old friends"),
    ("To forgive my father", "To forgive my neighbor"),
)

SINGLES: tuple[str, ...] = (
    "Clean sheets",
    "Fresh bread",
    "Open water",
    "Nobody left behind",
    "Fair play",
    "Good neighbors",
    "Room to think",
    "Plain words",
    "A dog at my feet",
    "Bread shared with strangers",
    "To grow tomatoes again",
    "To see the northern lights",
    "To speak up when it matters",
    "To choose who visits me",
    "To hear the truth, even when it hurts",
    "To be warm in January",
    "To dance at my sister's wedding",
    "To plant trees I'll never climb",
    "To teach a child to swim",
    "To know where my papers are",
    "To leave the light on for someone",
    "To repair more than I throw away",
    "To say thank you in person",
    "To be missed, but not for long",
    "To eat when I am hungry",
    "To hold hands in silence",
    "To live near the sea",
    "To be the one who stays calm",
    "To make my own mistakes",
    "To put family before work",
    "To travel without a plan",
    "To paint the front door blue",
    "To be remembered for small kindnesses",
    "Courage in the dentist's chair",
    "Curiosity before judgment",
    "Patience with slow machines",
    "Quiet mornings",
    "Loud Saturdays",
    "Enough, and no more",
    "Rules that apply to everyone",
    "Friends who tell me I'm wrong",
    "Work that leaves a mark",
    "A doctor who looks up",
    "A nurse who knows my name",
    "No machines at the bedside",
    "My own clothes, my own chair",
    "Stories told twice",
    "Help that asks first",
    "Grandmother's recipes written down",
    "Being early",
    "Being outdoors in any weather",
    "Singing in the car",
    "Keeping the peace at dinner",
    "Winning now and then",
    "Losing with good grace",
    "Standing up for the youngest",
    "Freedom to change my mind",
    "Respect for the night shift",
    "Savings for a rainy year",
    "Faith, whatever it is called",
)

DECK: tuple[str, ...] = (*(text for pair in TWINS for text in pair), *SINGLES)


Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Difficulty:
    """How far the table, the light and the camera may go. Lengths are shares of a card's width, angles degrees."""

    name: str
    gap: Range  # between neighbours in a pile; negative means they overlap
    between: Range  # between piles
    jitter: float  # how far a card may lie off its place
    card_turn: float
    pile_turn: float
    tilt: Range  # of the camera: 0 looks straight down
    twist: float  # of the camera
    light: Range  # how much darker the dark side of the picture is
    shade: float  # darkness of a shadow that falls over part of the table; 0 is none
    faded: Range  # share of the paper's colour in the ink
    blur: Range  # Gaussian radius in pixels
    noise: Range  # standard deviation in grey levels of 255
    quality: int  # of the JPEG
    twins: int  # pairs of cards that differ in a word or two
    clutter: int  # other things on the table, where there is room
    covered: float  # largest share of a card's text that another card may hide


EASY = Difficulty(
    name="easy",
    gap=(0.04, 0.12),
    between=(0.55, 0.75),
    jitter=0.015,
    card_turn=2.0,
    pile_turn=1.5,
    tilt=(0.0, 0.06),
    twist=1.0,
    light=(0.08, 0.16),
    shade=0.0,
    faded=(0.0, 0.06),
    blur=(0.0, 0.4),
    noise=(0.5, 1.0),
    quality=73,
    twins=1,
    clutter=0,
    covered=0.0,
)
MEDIUM = Difficulty(
    name="medium",
    gap=(-0.08, 0.04),
    between=(0.45, 0.6),
    jitter=0.05,
    card_turn=5.0,
    pile_turn=5.0,
    tilt=(0.08, 0.2),
    twist=4.0,
    light=(0.2, 0.35),
    shade=0.22,
    faded=(0.05, 0.2),
    blur=(0.5, 0.9),
    noise=(1.0, 2.0),
    quality=71,
    twins=2,
    clutter=2,
    covered=0.0,
)
HARD = Difficulty(
    name="hard",
    gap=(-0.16, -0.04),
    between=(0.36, 0.5),
    jitter=0.08,
    card_turn=10.0,
    pile_turn=10.0,
    tilt=(0.14, 0.26),
    twist=8.0,
    light=(0.35, 0.5),
    shade=0.5,
    faded=(0.2, 0.42),
    blur=(1.2, 1.8),
    noise=(2.5, 4.0),
    quality=70,
    twins=3,
    clutter=3,
    covered=0.02,
)


@dataclass(frozen=True, slots=True)
class Pile:
    """Cards that belong together: what the place is called, how many there are and how many side by side."""

    label: str
    cards: int
    columns: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One photo: its name, difficulty, table, and its piles."""

    name: str
    difficulty: Difficulty
    table: str
    piles: tuple[Pile, ...]
    upright: bool = False  # a photo taken with the phone held upright
    across: tuple[str, ...] = ()  # piles that face the other side of the table
    face_down: int = 0  # cards that lie face down beside the piles

    @property
    def cards(self) -> int:
        return sum(pile.cards for pile in self.piles)

    @property
    def in_rows(self) -> bool:
        return self.piles[0].label.endswith("row")


PLANS: tuple[Plan, ...] = (
    Plan("01-easy", EASY, "oak", (Pile("left", 4, 2), Pile("right", 4, 2))),
    Plan("02-easy", EASY, "felt", (Pile("center", 6, 3),)),
    Plan("03-easy", EASY, "linen", (Pile("top row", 5, 5), Pile("bottom row", 5, 5))),
    Plan("04-easy", EASY, "walnut", (Pile("left", 3, 1), Pile("center", 3, 1), Pile("right", 3, 1))),
    Plan("05-easy", EASY, "slate", (Pile("top", 4, 2), Pile("bottom", 6, 2)), upright=True),
    Plan(
        "06-easy",
        EASY,
        "gingham",
        (Pile("top left", 4, 2), Pile("top right", 4, 2), Pile("bottom left", 4, 2), Pile("bottom right", 4, 2)),
    ),
    Plan("07-easy", EASY, "oak", (Pile("top row", 4, 4), Pile("middle row", 4, 4), Pile("bottom row", 4, 4))),
    Plan("08-easy", EASY, "linen", (Pile("left", 6, 2), Pile("right", 8, 2))),
    Plan("09-medium", MEDIUM, "walnut", (Pile("left", 6, 2), Pile("right", 5, 2))),
    Plan("10-medium", MEDIUM, "oak", (Pile("center", 13, 4),)),
    Plan("11-medium", MEDIUM, "felt", (Pile("left", 5, 1), Pile("center", 4, 1), Pile("right", 6, 2))),
    Plan(
        "12-medium",
        MEDIUM,
        "linen",
        (Pile("top left", 4, 2), Pile("top right", 5, 2), Pile("bottom left", 6, 3), Pile("bottom right", 3, 2)),
    ),
    Plan("13-medium", MEDIUM, "gingham", (Pile("top", 6, 3), Pile("bottom", 9, 3)), upright=True),
    Plan("14-medium", MEDIUM, "slate", (Pile("top row", 6, 6), Pile("middle row", 5, 5), Pile("bottom row", 6, 6))),
    Plan(
        "15-medium", MEDIUM, "oak", (Pile("top left", 6, 2), Pile("top right", 6, 2), Pile("bottom", 8, 4)), face_down=2
    ),
    Plan("16-medium", MEDIUM, "walnut", (Pile("left", 12, 3), Pile("right", 10, 3))),
    Plan("17-hard", HARD, "felt", (Pile("left", 7, 2), Pile("right", 5, 2)), across=("right",)),
    Plan("18-hard", HARD, "oak", (Pile("left", 8, 2), Pile("center", 5, 1), Pile("right", 8, 2)), face_down=3),
    Plan(
        "19-hard",
        HARD,
        "walnut",
        (Pile("top left", 6, 3), Pile("top right", 5, 2), Pile("bottom left", 6, 2), Pile("bottom right", 7, 3)),
    ),
    Plan("20-hard", HARD, "gingham", (Pile("center", 19, 5),)),
    Plan("21-hard", HARD, "linen", (Pile("top", 12, 3), Pile("bottom", 11, 3)), upright=True),
    Plan("22-hard", HARD, "slate", (Pile("left", 10, 2), Pile("right", 8, 2)), across=("left",), face_down=2),
    Plan(
        "23-hard",
        HARD,
        "oak",
        (Pile("top left", 9, 3), Pile("top right", 5, 2), Pile("bottom left", 6, 2), Pile("bottom right", 7, 3)),
    ),
    Plan(
        "24-hard",
        HARD,
        "walnut",
        (Pile("top left", 8, 3), Pile("top right", 7, 3), Pile("bottom left", 7, 3), Pile("bottom right", 8, 3)),
        across=("top left", "top right"),
    ),
)
