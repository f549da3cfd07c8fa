import { join } from "node:path";
import { readJsonFile } from "@bonsai-agent/app/json-file";
import { nearestWord } from "@bonsai-agent/app/nearest-word";
import { z } from "zod";
import {
  actionNames,
  actions,
  isOfEditor,
  type KeyBindings,
  keyRule,
  keys,
  libraryBindings,
  readKey,
} from "./keys.ts";
import type { KeyId } from "./tui.ts";

/** What is in the user's file of keys, and what is wrong there. */
interface KeybindingsRead {
  bindings: KeyBindings;
  /** One sentence or two each; everything else in the file holds. */
  faults: readonly string[];
}

const fileSchema = z.record(z.string(), z.unknown());
const keysSchema = z.union([z.string().transform((key) => [key]), z.array(z.string())]);
const names = [...actionNames, ...libraryBindings];

export function keybindingsFile(home: string): string {
  return join(home, "keybindings.json");
}

/** Binds the keys of `<home>/keybindings.json`, each anew. @returns what is wrong in the file */
export function bindKeys(home: string): readonly string[] {
  const { bindings, faults } = readKeybindings(keybindingsFile(home));
  keys.bind(bindings);
  return faults;
}

/** Reads `{"action": "key"}` and `{"action": ["key", "key"]}`; no key at all is an empty list. */
function readKeybindings(file: string): KeybindingsRead {
  const value = valueIn(file);
  if ("fault" in value) return { bindings: {}, faults: [value.fault] };
  const read = fileSchema.safeParse(value.json === undefined ? {} : value.json);
  if (!read.success)
    return {
      bindings: {},
      faults: [`${file} is no object; it should be like {"expand": "ctrl+e"}. All keys have their default.`],
    };
  const bindings: Record<string, KeyId[]> = {};
  const faults: string[] = [];
  for (const [name, given] of Object.entries(read.data)) {
    const row = readRow(name, given);
    if (row.keys !== undefined) bindings[name] = row.keys;
    faults.push(...row.faults.map((fault) => `${file}: ${fault}`));
  }
  return { bindings, faults: [...faults, ...twice(bindings).map((fault) => `${file}: ${fault}`)] };
}

function valueIn(file: string): { json: unknown } | { fault: string } {
  try {
    return { json: readJsonFile(file) };
  } catch (error) {
    return { fault: `The keys have their default: ${(error as Error).message}` };
  }
}

function readRow(name: string, given: unknown): { keys?: KeyId[]; faults: string[] } {
  if (!names.includes(name)) return { faults: [unknownAction(name)] };
  const list = keysSchema.safeParse(given);
  if (!list.success)
    return { faults: [`"${name}" should have a key, or a list of keys, each a text. It keeps its default.`] };
  const faults: string[] = [];
  const good: KeyId[] = [];
  for (const text of list.data) {
    const read = readKey(text);
    if ("key" in read) good.push(read.key);
    else faults.push(`"${name}" cannot have the key "${text}": ${read.fault}. ${keyRule}`);
  }
  if (list.data.length === 0 && (name === "submit" || name === actions.submit.binding))
    return {
      faults: [`"${name}" needs a key, for without one nothing could be sent. It keeps its default.`],
    };
  // A row without one good key would leave its action without any.
  return good.length === 0 && faults.length > 0 ? { faults } : { keys: good, faults };
}

function unknownAction(name: string): string {
  const near = nearestWord(name, names);
  const meant = near === undefined ? "" : ` Did you mean "${near}"?`;
  return `"${name}" is no action.${meant} The actions are ${actionNames.join(", ")}, and those of the editor that /help names.`;
}

/** Two actions on one key while one types: the one that is asked first has it. */
function twice(bindings: Record<string, KeyId[]>): string[] {
  const owner = new Map<KeyId, string>();
  const faults: string[] = [];
  for (const name of [...actionNames, ...libraryBindings.filter(isOfEditor)]) {
    for (const key of bindings[name] ?? []) {
      const other = owner.get(key);
      if (other !== undefined) faults.push(`"${other}" and "${name}" have the same key "${key}".`);
      owner.set(key, name);
    }
  }
  return faults;
}
