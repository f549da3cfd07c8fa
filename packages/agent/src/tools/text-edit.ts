/** What a model asks for: one passage replaced by another. */
export interface TextEdit {
  oldText: string;
  newText: string;
}

/** Where it goes: the characters from `start` up to but without `end`. */
export interface TextChange {
  start: number;
  end: number;
  replacement: string;
}

/** Makes changes that are in order and do not overlap. */
export function applyChanges(text: string, changes: readonly TextChange[]): string {
  let changed = "";
  let from = 0;
  for (const { start, end, replacement } of changes) {
    changed += text.slice(from, start) + replacement;
    from = end;
  }
  return changed + text.slice(from);
}
