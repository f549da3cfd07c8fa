/**
 * What a phrase does in a sentence.
 * forbid, require: a rule for the work. ought: a rule only if the sentence is no request. prefer: taste.
 * decide: a choice. change: replaces something said before; shift: may replace it ("now"). revoke: takes it back.
 * fact: says how things are. todo: work for later. fixed, broken: what works again, what does not.
 * did: work reported as done. idiom: looks like one of the others and is none. reports: what a text says, not the user.
 */
export type CueClass =
  | "forbid"
  | "require"
  | "ought"
  | "prefer"
  | "decide"
  | "change"
  | "shift"
  | "revoke"
  | "fact"
  | "todo"
  | "fixed"
  | "broken"
  | "did"
  | "idiom"
  | "reports";

/**
 * The phrases of one language, lists separated by `|`. In a phrase `*` stands for a short gap, `~` for any word
 * ending. Written without accents or with them, in any case: text and phrases are folded alike.
 */
export interface Lexicon {
  /** Frequent small words: they tell the language, and are no subject of a sentence. */
  stopwords: string;
  cues: Record<CueClass, string>;
  /** Words that stand before the old value of a change: "instead of". */
  beforeOld: string;
  /** Words that stand after it: "の代わりに". */
  afterOld?: string;
  /** True where words are not separated by spaces. */
  unspaced?: boolean;
  /** True where the word that forbids stands behind the verb. */
  verbLast?: boolean;
}
