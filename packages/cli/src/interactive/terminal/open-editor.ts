import { type AutocompleteItem, Editor } from "@earendil-works/pi-tui";

/** Members that the library's editor keeps to itself, as its version 0.87 has them. */
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

/** A piece of a line that the cursor does not go into. */
interface Segment {
  segment: string;
  index: number;
  input: string;
}

/**
 * The library's editor, and what a prompt has to know of it that the library does not offer. Nothing else looks behind
 * what the library declares: with another version of it, this is the file to look at.
 */
export class OpenEditor extends Editor {
  /** What the history goes through, latest first. The library would keep a hundred; the list is all that it looks at. */
  protected get earlierTexts(): string[] {
    return this.#inside.history;
  }

  /** What was typed before the history was looked through, pastes in full; undefined while it is not looked through. */
  protected get draft(): string | undefined {
    const { historyDraft } = this.#inside;
    return historyDraft === null ? undefined : this.#inside.expandPasteMarkers(historyDraft.lines.join("\n"));
  }

  /** The list of completions that is shown: another object for each list. Undefined where none is shown. */
  protected get completions(): object | undefined {
    return this.isShowingAutocomplete() ? this.#inside.autocompleteList : undefined;
  }

  /** True where the selected completion is what was typed. */
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

  /** The cursor goes over each match as over one letter, and a key deletes all of it. @param pattern with the flag `g` */
  protected keepWhole(pattern: RegExp): void {
    const inside = this.#inside;
    const segments = inside.segment.bind(this);
    inside.segment = (text, mode) => joined(segments(text, mode), text, pattern);
  }

  get #inside(): Inside {
    return this as unknown as Inside;
  }
}

/** The segments of a text, those within a match of a pattern as one. */
function joined(segments: Iterable<Segment>, text: string, pattern: RegExp): Iterable<Segment> {
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
