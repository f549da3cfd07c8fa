import type { FrontEndDrawing } from "@bonsai-agent/extension/host";
import { isRecord } from "@bonsai-agent/messages";
import type { AutocompleteProvider, AutocompleteSuggestions } from "../terminal/tui.ts";
import { safeSuggestions } from "./prompt-completion.ts";

type Add = FrontEndDrawing["addAutocompleteProvider"];

interface Added {
  make: Parameters<Add>[0];
  onFailure: Parameters<Add>[1];
}

/**
 * Stacks the completion providers of extensions on Bonsai's own. Each provider can ask the one below it.
 * @param onChange gets the combined provider after a change
 * @returns a function that adds a provider
 */
export function completionStack(
  base: AutocompleteProvider,
  onChange: (provider: AutocompleteProvider) => void,
): Add {
  const stack: Added[] = [];
  let top = base;
  const all: AutocompleteProvider = {
    get triggerCharacters() {
      return top.triggerCharacters ?? [];
    },
    getSuggestions: async (...position) => safeSuggestions(await top.getSuggestions(...position)),
    applyCompletion: (...call) => top.applyCompletion(...call),
    shouldTriggerFileCompletion: (...call) => top.shouldTriggerFileCompletion?.(...call) ?? true,
  };
  const rebuild = () => {
    top = stack.reduce((below, added) => layer(below, added, () => remove(added)), base);
    onChange(all);
  };
  const remove = (added: Added) => {
    const at = stack.indexOf(added);
    if (at < 0) return;
    stack.splice(at, 1);
    rebuild();
  };
  return (make, onFailure) => {
    const added = { make, onFailure };
    stack.push(added);
    rebuild();
    return () => remove(added);
  };
}

/** If a provider throws, the one below answers from then on. */
function layer(below: AutocompleteProvider, added: Added, remove: () => void): AutocompleteProvider {
  const fail = (error: unknown) => {
    remove();
    added.onFailure(error);
  };
  const made = attempt(() => added.make(below), fail);
  if (made === undefined) return below;
  return {
    triggerCharacters: [...(below.triggerCharacters ?? []), ...(made.triggerCharacters ?? [])],
    async getSuggestions(...position) {
      try {
        return checkedSuggestions(await made.getSuggestions(...position));
      } catch (error) {
        if (position[3].signal.aborted) return null;
        fail(error);
        return below.getSuggestions(...position);
      }
    },
    applyCompletion: (...call) =>
      attempt(() => checkedEdit(made.applyCompletion(...call)), fail) ?? below.applyCompletion(...call),
    shouldTriggerFileCompletion: (...call) =>
      attempt(() => made.shouldTriggerFileCompletion?.(...call), fail) ??
      below.shouldTriggerFileCompletion?.(...call) ??
      true,
  };
}

/** Checks an extension's answer: a wrong one would end the program in the editor. */
function checkedSuggestions(given: unknown): AutocompleteSuggestions | null {
  if (given === null || given === undefined) return null;
  const { items, prefix } = given as Partial<AutocompleteSuggestions>;
  if (Array.isArray(items) && items.every(isItem) && typeof prefix === "string")
    return { items: items.map((item) => ({ ...item, label: item.label ?? item.value })), prefix };
  throw new Error("getSuggestions returned neither {items: [{value, label}], prefix} nor null");
}

function isItem(given: unknown): given is AutocompleteSuggestions["items"][number] {
  if (!isRecord(given)) return false;
  const { value, label = "", description } = given;
  const isText = (each: unknown) => typeof each === "string";
  return isText(value) && isText(label) && (isText(description) || description == null);
}

type Edit = ReturnType<AutocompleteProvider["applyCompletion"]>;

function checkedEdit(given: unknown): Edit {
  const { lines, cursorLine = -1, cursorCol = -1 } = (given ?? {}) as Partial<Edit>;
  const isLines = Array.isArray(lines) && lines.every((line) => typeof line === "string");
  const line = isLines ? lines[cursorLine] : undefined;
  if (line !== undefined && Number.isInteger(cursorCol) && cursorCol >= 0 && cursorCol <= line.length)
    return given as Edit;
  throw new Error(
    "applyCompletion did not return {lines, cursorLine, cursorCol} with the cursor inside the lines",
  );
}

function attempt<Value>(task: () => Value, fail: (error: unknown) => void): Value | undefined {
  try {
    return task();
  } catch (error) {
    // Not while the stack is rebuilt.
    queueMicrotask(() => fail(error));
    return undefined;
  }
}
