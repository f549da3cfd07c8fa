import { type AutocompleteItem, Editor } from "@earendil-works/pi-tui";

/** Private members of the library's editor in version 0.87. */
interface Inside {
  readonly autocompleteList: { getSelectedItem(): AutocompleteItem | null } | undefined;
  readonly autocompletePrefix: string;
  readonly history: string[];
  readonly historyDraft: { lines: readonly string[] } | null;
  cancelAutocomplete(): void;
  tryTriggerAutocomplete(): void;
  expandPasteMarkers(text: string): string;
  segment(text: string, mode: "word" | "grapheme"): Iterable<Segment>;
}

/** A part of a line that the cursor skips as one. */
interface Segment {
  segment: string;
  index: number;
  input: string;
}

/** The library's editor with access to its private members. Check this file with each version of the library. */
export class OpenEditor extends Editor {
  /** The history, latest first. The library itself would keep a hundred texts. */
  protected get earlierTexts(): string[] {
    return this.#inside.history;
  }

  /** The text typed before a walk through the history, pastes in full; undefined outside such a walk. */
  protected get draft(): string | undefined {
    const { historyDraft } = this.#inside;
    return historyDraft === null ? undefined : this.#inside.expandPasteMarkers(historyDraft.lines.join("\n"));
  }

  /** The shown completions: another object for each list. */
  protected get completions(): object | undefined {
    return this.isShowingAutocomplete() ? this.#inside.autocompleteList : undefined;
  }

  /** True if the selected completion equals the typed text. */
  protected get isCompleted(): boolean {
    const { autocompleteList, autocompletePrefix } = this.#inside;
    return this.isShowingAutocomplete() && autocompleteList?.getSelectedItem()?.value === autocompletePrefix;
  }

  protected complete(): void {
    this.#inside.tryTriggerAutocomplete();
  }

  protected leaveCompletions(): void {
    this.#inside.cancelAutocomplete();
  }

  /** Treats each match as one letter. @param pattern with the flag `g` */
  protected keepWhole(pattern: RegExp): void {
    const inside = this.#inside;
    const segments = inside.segment.bind(this);
    inside.segment = (text, mode) => joinSegments(segments(text, mode), text, pattern);
  }

  get #inside(): Inside {
    return this as unknown as Inside;
  }
}

/** Joins the segments within a match of the pattern. */
function joinSegments(segments: Iterable<Segment>, text: string, pattern: RegExp): Iterable<Segment> {
  const matches = [...text.matchAll(pattern)].map(({ 0: segment, index }) => ({
    ...{ segment, index, input: text },
    isWordLike: true,
  }));
  if (matches.length === 0) return segments;
  const isInside = ({ index }: Segment) =>
    matches.some((match) => index >= match.index && index < match.index + match.segment.length);
  const outside = [...segments].filter((segment) => !isInside(segment));
  return [...outside, ...matches].sort((one, other) => one.index - other.index);
}
