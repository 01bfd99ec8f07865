"""Replaces personal data in texts by its kind."""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from typing import Any

# What is masked, by Presidio's names. Dates, web addresses and organizations alone are no personal data.
MASKED = [
    *("EMAIL_ADDRESS", "IP_ADDRESS", "LOCATION", "MAC_ADDRESS", "NRP", "PERSON", "PHONE_NUMBER"),
    *("CREDIT_CARD", "CRYPTO", "IBAN_CODE", "US_BANK_NUMBER"),
    *("MEDICAL_LICENSE", "UK_NHS", "US_DRIVER_LICENSE", "US_ITIN", "US_PASSPORT", "US_SSN"),
]
# Patterns without a word beside them that confirms them, such as any seven digits, have 0.01 to 0.3.
LEAST_SCORE = 0.4
LANGUAGE = "en"
MODEL = "en_core_web_sm"


def mask(packages: str) -> dict[str, Any]:
    """Reads `{"texts": […]}` from standard input.

    Args:
        packages: the folder with Presidio; its packages come before the trainer's.

    Returns:
        `texts` in the same order, `found` with the number of values of each kind, and `names`: whether
        names of people and places were looked for, which needs a language model.
    """
    texts: list[str] = json.load(sys.stdin)["texts"]
    sys.path.insert(0, packages)
    logging.disable(logging.WARNING)
    analyzer, names = _analyzer()
    anonymizer: Any = import_module("presidio_anonymizer").AnonymizerEngine()
    found: Counter[str] = Counter()
    masked = []
    for text in texts:
        results = analyzer.analyze(text=text, language=LANGUAGE, entities=MASKED, score_threshold=LEAST_SCORE)
        # Of values that overlap, the engine keeps the likeliest.
        changed = anonymizer.anonymize(text=text, analyzer_results=results)
        found.update(item.entity_type for item in changed.items)
        masked.append(changed.text)
    return {"texts": masked, "found": dict(found), "names": names}


def _analyzer() -> tuple[Any, bool]:
    """Presidio's analyzer, and whether it finds names."""
    # It would fetch the list of public suffixes; the package has one.
    tldextract: Any = import_module("tldextract.tldextract")
    tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    presidio: Any = import_module("presidio_analyzer")
    engines: Any = import_module("presidio_analyzer.nlp_engine")
    engine = engines.SpacyNlpEngine(models=[{"lang_code": LANGUAGE, "model_name": MODEL}])
    names = find_spec(MODEL) is not None
    if names:
        engine.load()
    else:
        engine.nlp = {LANGUAGE: import_module("spacy").blank(LANGUAGE)}
    return presidio.AnalyzerEngine(nlp_engine=engine, supported_languages=[LANGUAGE]), names
