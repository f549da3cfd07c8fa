import { isRecord, textHead } from "@bonsai-agent/messages";
import type { Todo } from "../details.ts";
import { clippedLine, normalForm } from "./sentence.ts";

export interface ListedTodo {
  text: string;
  isDone: boolean;
}

const MAX_TODO_CHARS = 240;
/** Maximum number of open to-dos; the oldest are dropped first. */
const MAX_TODOS = 60;
/** Maximum length of one list. */
const MAX_ITEMS = 300;
const TEXTS = ["content", "text", "step", "title", "task", "subject", "description", "name"];
const STATES = ["status", "state", "done", "completed", "checked"];
const DONE = /^(?:completed?|done|finished|closed|cancell?ed|skipped|resolved|deleted|removed|true)$/i;

/**
 * Finds a to-do list in a tool's arguments or details, by its shape: records with a text and a state.
 * @param isKnown true if the tool has a list already: an empty list then counts
 */
export function listOf(fields: unknown, isKnown: boolean): ListedTodo[] | undefined {
  for (const list of Object.values(isRecord(fields) ? fields : {})) {
    if (!Array.isArray(list) || list.length > MAX_ITEMS) continue;
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
  return [{ text: clippedLine(String(text), MAX_TODO_CHARS), isDone: DONE.test(String(state)) }];
}

const BOX =
  /^[ \t>]{0,12}(?:(?:[-*+•]|\d{1,3}[.)])[ \t]{1,4})?(?:\[([ xX✓✔~/-])\]|([☐☑☒✅✔✓]))[ \t]{1,4}(\S.*)$/u;

/** The check boxes of a text, in order. Ignores boxes in a code fence: they belong to a quoted document. */
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
  return found
    .slice(-MAX_ITEMS)
    .map(({ text, isDone }) => ({ text: clippedLine(text, MAX_TODO_CHARS), isDone }));
}

/**
 * The open to-dos after a list. A tool's list replaces its earlier one, unless they have no item in common: then it
 * begins other work, and both stay. Boxes in a text add and tick off.
 * @param adds false if the list only ticks off
 */
export function afterTodos(
  todos: readonly Todo[],
  list: readonly ListedTodo[],
  { adds, tool, entryId }: Omit<Todo, "text"> & { adds: boolean },
): Todo[] {
  const states = new Map(list.map(({ text, isDone }) => [normalForm(text), isDone]));
  const isDone = ({ text }: Todo) => states.get(normalForm(text));
  const isOwn = (todo: Todo) => tool !== undefined && todo.tool === tool;
  const isSameWork = list.length === 0 || todos.some((todo) => isOwn(todo) && isDone(todo) !== undefined);
  const open = todos.filter((todo) => !(isDone(todo) ?? (isSameWork && isOwn(todo))));
  const known = new Set(open.map(({ text }) => normalForm(text)));
  const added = list.filter((item) => adds && !item.isDone && !known.has(normalForm(item.text)));
  return [...open, ...added.map(({ text }) => ({ text, tool, entryId }))].slice(-MAX_TODOS);
}
