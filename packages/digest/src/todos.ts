import { isRecord } from "@bonsai-agent/messages";
import { clipped } from "./run-result.ts";

export interface Todo {
  text: string;
  entryId?: string | undefined;
  /** The tool whose list it is in: its next list takes the place of this one. */
  tool?: string | undefined;
}

export interface ListedTodo {
  text: string;
  isDone: boolean;
}

const maxTodoChars = 240;
const TEXT_FIELDS = ["content", "text", "step", "title", "task", "subject", "description", "name"];
const DONE =
  /^(?:complete|completed|done|finished|closed|cancell?ed|skipped|resolved|deleted|removed|x|true)$/i;

/** The list that a to-do tool was given or gives back, by its shape; undefined where there is none. */
export function listOf(fields: unknown): ListedTodo[] | undefined {
  if (!isRecord(fields)) return undefined;
  for (const list of Object.values(fields)) {
    if (!Array.isArray(list) || list.length === 0 || list.length > 1_000) continue;
    const items = list.map(itemOf).filter((item) => item !== undefined);
    if (items.length === list.length) return items;
  }
  return undefined;
}

/** A list with nothing in it: what a to-do tool is given when all is done. */
export function isEmptyList(fields: unknown): boolean {
  return (
    isRecord(fields) && Object.values(fields).some((value) => Array.isArray(value) && value.length === 0)
  );
}

function itemOf(item: unknown): ListedTodo | undefined {
  if (!isRecord(item)) return undefined;
  const text = TEXT_FIELDS.map((field) => item[field]).find(
    (value) => typeof value === "string" && value.trim() !== "",
  );
  const state = [item.status, item.state, item.done, item.completed, item.checked].find(
    (value) => typeof value === "string" || typeof value === "boolean",
  );
  if (typeof text !== "string" || state === undefined) return undefined;
  return { text: clipped(text, maxTodoChars), isDone: DONE.test(String(state)) };
}

const BOX =
  /^[ \t>]{0,12}(?:(?:[-*+•]|\d{1,3}[.)])[ \t]{1,4})?(?:\[([ xX✓✔~/-])\]|([☐☑☒✅✔✓]))[ \t]{1,4}(\S.*)$/u;

/** The check boxes of a text, in order; those in fences are of a document that is spoken of. */
export function boxesOf(text: string): ListedTodo[] {
  if (!/\[[ xX✓✔~/-]\]|[☐☑☒✅✔✓]/u.test(text)) return [];
  const found: ListedTodo[] = [];
  let isFenced = false;
  for (const line of text.split("\n")) {
    if (/^[ \t]{0,8}(?:```|~~~)/.test(line)) isFenced = !isFenced;
    const box = isFenced ? null : BOX.exec(line.slice(0, 2_000));
    if (box === null) continue;
    const mark = box[1] ?? box[2]!;
    found.push({ text: clipped(box[3]!, maxTodoChars), isDone: /[xX✓✔☑☒✅]/u.test(mark) });
  }
  return found;
}

/** Words in small letters; scripts that set no spaces count by pairs of signs. */
function wordsOf(text: string): Set<string> {
  const words = new Set<string>();
  for (const [word] of text
    .normalize("NFKC")
    .toLowerCase()
    .matchAll(/[\p{L}\p{N}\p{M}_]+(?:[./:#@-][\p{L}\p{N}\p{M}_]+)*/gu)) {
    if (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(word))
      for (let at = 0; at < Math.max(1, word.length - 1); at++) words.add(word.slice(at, at + 2));
    else words.add(word);
  }
  return words;
}

const isSpecific = (word: string): boolean => /[\d_./:#@]/.test(word);

/** True for the same text, or nearly the same: "Migrate ledger_1" and "migrate ledger_2" are two. */
export function isSameTodo(a: string, b: string): boolean {
  const [first, second] = [wordsOf(a), wordsOf(b)];
  const [few, many] = first.size <= second.size ? [first, second] : [second, first];
  if (few.size === 0) return a.trim() === b.trim();
  const [namedByFew, namedByMany] = [[...few].filter(isSpecific), [...many].filter(isSpecific)];
  if (namedByFew.some((word) => !many.has(word)) && namedByMany.some((word) => !few.has(word))) return false;
  const shared = [...few].filter((word) => many.has(word)).length;
  return shared / few.size >= 0.8 && shared / many.size >= 0.5;
}

/** The to-dos after a list of check boxes came. */
export function afterBoxes(
  todos: readonly Todo[],
  boxes: readonly ListedTodo[],
  entryId: string | undefined,
  adds: boolean,
): Todo[] {
  let open = [...todos];
  for (const { text, isDone } of boxes) {
    const known = open.filter((todo) => isSameTodo(todo.text, text));
    if (isDone) open = open.filter((todo) => !known.includes(todo));
    else if (known.length === 0 && adds) open.push({ text, ...(entryId !== undefined && { entryId }) });
  }
  return open;
}

/** The to-dos after a tool wrote its list anew. */
export function afterList(
  todos: readonly Todo[],
  tool: string,
  list: readonly ListedTodo[],
  entryId: string | undefined,
  adds: boolean,
): Todo[] {
  const done = list.filter(({ isDone }) => isDone);
  const open = list.filter(({ isDone }) => !isDone);
  const others = todos.filter(
    (todo) => todo.tool !== tool && !done.some(({ text }) => isSameTodo(todo.text, text)),
  );
  if (!adds)
    return todos.filter(
      (todo) =>
        others.includes(todo) || (todo.tool === tool && open.some(({ text }) => isSameTodo(todo.text, text))),
    );
  return [...others, ...open.map(({ text }) => ({ text, tool, ...(entryId !== undefined && { entryId }) }))];
}
