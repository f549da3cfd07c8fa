import { isRecord, textHead } from "@bonsai-agent/messages";
import { clipped } from "./run-result.ts";
import { normalForm } from "./sentence.ts";

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
/** The open ones that are kept; the oldest leave first. */
const maxTodos = 60;
/** Of one list. */
const maxItems = 300;
const TEXTS = ["content", "text", "step", "title", "task", "subject", "description", "name"];
const STATES = ["status", "state", "done", "completed", "checked"];
const DONE = /^(?:completed?|done|finished|closed|cancell?ed|skipped|resolved|deleted|removed|true)$/i;

/**
 * The list that a to-do tool is given or gives back, by its shape: records with a text and a state.
 * @param isKnown whether the tool had such a list: then an empty one counts
 */
export function listOf(fields: unknown, isKnown: boolean): ListedTodo[] | undefined {
  for (const list of Object.values(isRecord(fields) ? fields : {})) {
    if (!Array.isArray(list) || list.length > maxItems) continue;
    const items = list.flatMap(itemOf);
    if (items.length === list.length && (isKnown || items.length > 0)) return items;
  }
  return undefined;
}

function itemOf(item: unknown): ListedTodo[] {
  const fields = isRecord(item) ? item : {};
  const text = TEXTS.map((field) => fields[field]).find((value) => typeof value === "string" && value !== "");
  const state = STATES.map((field) => fields[field]).find((value) => /^(?:str|bool)/.test(typeof value));
  if (text === undefined || state === undefined) return [];
  return [{ text: clipped(String(text), maxTodoChars), isDone: DONE.test(String(state)) }];
}

const BOX =
  /^[ \t>]{0,12}(?:(?:[-*+•]|\d{1,3}[.)])[ \t]{1,4})?(?:\[([ xX✓✔~/-])\]|([☐☑☒✅✔✓]))[ \t]{1,4}(\S.*)$/u;

/** The check boxes of a text, in order; those in a fence belong to a document that is only spoken of. */
export function boxesOf(text: string): ListedTodo[] {
  if (!/\[[ xX✓✔~/-]\]|[☐☑☒✅✔✓]/u.test(text)) return [];
  let isFenced = false;
  const found = text.split("\n").flatMap((line): ListedTodo[] => {
    if (line === "") return [];
    if (/^[ \t]{0,8}(?:```|~~~)/.test(line)) isFenced = !isFenced;
    const [, box, sign, task] = (isFenced ? null : BOX.exec(textHead(line, 2_000))) ?? [];
    if (task === undefined) return [];
    return [{ text: task, isDone: /[xX✓✔☑☒✅]/u.test(box ?? sign!) }];
  });
  return found.slice(-maxItems).map(({ text, isDone }) => ({ text: clipped(text, maxTodoChars), isDone }));
}

/**
 * The open to-dos after a list. The list of a tool replaces its former one, unless they have no item in common: then it
 * begins other work. Boxes in a text add and tick off.
 * @param adds whether new to-dos are added; else the list only ticks off
 */
export function afterTodos(
  todos: readonly Todo[],
  list: readonly ListedTodo[],
  { adds, tool, entryId }: Omit<Todo, "text"> & { adds: boolean },
): readonly Todo[] {
  const states = new Map(list.map(({ text, isDone }) => [normalForm(text), isDone]));
  const isDone = ({ text }: Todo) => states.get(normalForm(text));
  const own = todos.filter((todo) => tool !== undefined && todo.tool === tool);
  const goesOn = list.length === 0 || own.some((todo) => isDone(todo) !== undefined);
  const open = todos.filter(
    (todo) => isDone(todo) === false || (isDone(todo) === undefined && !(goesOn && own.includes(todo))),
  );
  const known = new Set(open.map(({ text }) => normalForm(text)));
  const added = list.filter((item) => adds && !item.isDone && !known.has(normalForm(item.text)));
  return [...open, ...added.map(({ text }) => ({ text, tool, entryId }))].slice(-maxTodos);
}
