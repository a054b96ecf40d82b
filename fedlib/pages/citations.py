"""Links to the papers for pages, made from CITATION.cff: no page has an address of its own."""

from html import escape

import yaml

from ..files import ROOT


def links() -> dict[str, str]:
    """ "fedsciml" -> HTML: authors, year, the title as a link to the paper, a link to its preprint."""
    return {
        paper["abbreviation"].lower(): link(paper)
        for paper in yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    }


def link(paper: dict) -> str:
    """One of CITATION.cff's references; one that is not published has no link."""
    names = [escape(author.get("family-names") or author["name"]) for author in paper["authors"]]
    authors = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    if "doi" not in paper:
        return f"{authors}: {escape(paper['title'])} ({paper['notes'].rstrip('.').lower()})"
    title = f'<a href="https://doi.org/{paper["doi"]}">{escape(paper["title"])}</a>'
    preprint = f' (<a href="{paper["url"]}">preprint</a>)' if "url" in paper else ""
    return f"{authors}, {paper['year']}: {title}{preprint}"


def lines() -> str:
    """All papers, for the foot of each page of the site."""
    return "The papers:<br>" + "<br>".join(links().values())
