import { readFileSync } from "node:fs";
import { type Fields, isFields } from "./fields.ts";

/** The object that a whole file is; undefined when it is none, for instance JSON Lines. */
export function readJsonFile(path: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8").replace(/^\uFEFF/, ""));
    return isFields(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
