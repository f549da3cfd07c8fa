/** A line that a search found, or one beside it. */
export interface SearchedLine {
  /** Relative to where the search began, with `/`. */
  path: string;
  /** From 1; absent where a search could not tell. */
  line: number | undefined;
  text: string;
  /** Where in it the first match begins; absent in a line that is only context. */
  matchAt?: number | undefined;
}

export interface LineSearchOptions {
  /** A folder, or one file. */
  root: string;
  isFolder: boolean;
  /** A regular expression, unless literal. */
  pattern: string;
  isLiteral: boolean;
  ignoresCase: boolean;
  glob?: string | undefined;
  contextLines: number;
  signal: AbortSignal;
  /** Told of what the search could not cover, as sentences. */
  onNote: (note: string) => void;
}

/** Lines in the order of paths and numbers. Whoever has enough stops asking. */
export type LineSearch = (options: LineSearchOptions) => AsyncIterable<SearchedLine>;
