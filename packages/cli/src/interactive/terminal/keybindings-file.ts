import { join } from "node:path";
import { z } from "zod";
import { readJsonFile } from "../../call/json-file.ts";
import { nearestWord } from "../../views/nearest-word.ts";
import { actionNames, actions, isOfEditor, keyRule, keys, libraryBindings, readKey } from "./keys.ts";
import type { KeyId } from "./tui.ts";

const fileSchema = z.record(z.string(), z.unknown());
const keysSchema = z.union([z.string().transform((key) => [key]), z.array(z.string())]);
const names = [...actionNames, ...libraryBindings];

export function keybindingsFile(home: string): string {
  return join(home, "keybindings.json");
}

/**
 * Binds the keys of `<home>/keybindings.json`: `{"action": "key"}` or `{"action": ["key", "key"]}`. An empty list removes
 * the keys. @returns the faults in the file; the rest of it applies
 */
export function bindKeys(home: string): readonly string[] {
  const file = keybindingsFile(home);
  const bindings: Record<string, KeyId[]> = {};
  const faults: string[] = [];
  for (const [name, given] of Object.entries(rowsIn(file, (fault) => faults.push(fault)))) {
    const row = readRow(name, given);
    if (row.keys !== undefined) bindings[name] = row.keys;
    faults.push(...row.faults.map((fault) => `${file}: ${fault}`));
  }
  keys.bind(bindings);
  return [...faults, ...findDuplicates(bindings).map((fault) => `${file}: ${fault}`)];
}

function rowsIn(file: string, onFault: (fault: string) => void): Record<string, unknown> {
  try {
    const value = readJsonFile(file);
    const read = fileSchema.safeParse(value === undefined ? {} : value);
    if (read.success) return read.data;
    onFault(`${file} must contain an object, such as {"expand": "ctrl+e"}. Using the default keys.`);
  } catch (error) {
    onFault(`Using the default keys: ${(error as Error).message}`);
  }
  return {};
}

function readRow(name: string, given: unknown): { keys?: KeyId[]; faults: string[] } {
  if (!names.includes(name)) return { faults: [unknownAction(name)] };
  const list = keysSchema.safeParse(given);
  if (!list.success) return { faults: [`"${name}" must be a key or a list of keys. Using its default.`] };
  const faults: string[] = [];
  const good: KeyId[] = [];
  for (const text of list.data) {
    const read = readKey(text);
    if ("key" in read) good.push(read.key);
    else faults.push(`"${name}" cannot use the key "${text}": ${read.fault}. ${keyRule}`);
  }
  if (list.data.length === 0 && (name === "submit" || name === actions.submit.binding))
    return {
      faults: [`"${name}" needs a key, because it sends the prompt. Using its default.`],
    };
  // Without a good key, the action keeps its default.
  return good.length === 0 && faults.length > 0 ? { faults } : { keys: good, faults };
}

function unknownAction(name: string): string {
  const near = nearestWord(name, names);
  const meant = near === undefined ? "" : ` Did you mean "${near}"?`;
  return `"${name}" is not an action.${meant} Actions: ${actionNames.join(", ")}. /help lists those of the editor too.`;
}

/** Two actions with the same key in the editor. */
function findDuplicates(bindings: Record<string, KeyId[]>): string[] {
  const owner = new Map<KeyId, string>();
  const faults: string[] = [];
  for (const name of [...actionNames, ...libraryBindings.filter(isOfEditor)]) {
    for (const key of bindings[name] ?? []) {
      const other = owner.get(key);
      if (other !== undefined) faults.push(`"${other}" and "${name}" use the same key "${key}".`);
      owner.set(key, name);
    }
  }
  return faults;
}
