/** A file that a prompt names with `@`. */
export interface Mention {
  path: string;
  /** Written as `@"a path"`: it can be nothing but a path. */
  isQuoted: boolean;
}

/** At the beginning of a word only: an `@` inside one belongs to an address. */
const mention = /(?<=^|[\s([{<"'`])@(?:"([^"]+)"|([^\s"'`<>()[\]{}]+))/g;
const punctuation = /(?<![.,;:!?])[.,;:!?]+$/;

/**
 * The mentions in one argument of the command line, as they stand.
 * @param exists tells whether a path is there: punctuation behind one belongs to the sentence only where it is not
 */
export function mentionsIn(word: string, exists: (path: string) => boolean): Mention[] {
  // An argument of the shell's own quoting is one path, spaces and all.
  if (word.startsWith("@") && exists(word.slice(1))) return [{ path: word.slice(1), isQuoted: false }];
  return [...word.matchAll(mention)]
    .map(([, quoted, bare = ""]) => {
      if (quoted !== undefined) return { path: quoted, isQuoted: true };
      return { path: exists(bare) ? bare : bare.replace(punctuation, ""), isQuoted: false };
    })
    .filter(({ path }) => path !== "");
}
