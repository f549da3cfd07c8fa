import { readdirSync, type Stats, statSync } from "node:fs";
import type { FindProblem } from "./found-extension.ts";

/** Absolute paths of entry modules that are there, and what was wrong. */
export interface Entries {
  entries: readonly string[];
  problems: readonly FindProblem[];
}

export const noEntries: Entries = { entries: [], problems: [] };

export function entry(path: string): Entries {
  return { entries: [path], problems: [] };
}

export function problem(path: string, message: string, hint: string): Entries {
  return { entries: [], problems: [{ path, message, hint }] };
}

export function joined(parts: readonly Entries[]): Entries {
  return {
    entries: parts.flatMap(({ entries }) => entries),
    problems: parts.flatMap(({ problems }) => problems),
  };
}

/** What follows from what a path is, links followed; where it is nothing that can be read, the problem with its hint. */
export function entriesBy(path: string, hint: string, of: (stats: Stats) => Entries): Entries {
  let stats: Stats;
  try {
    stats = statSync(path);
  } catch (error) {
    return unreadable(path, error, hint);
  }
  return of(stats);
}

/** What follows from the names in a folder, sorted. A folder that is not there has none. */
export function entriesByName(folder: string, of: (names: readonly string[]) => Entries): Entries {
  let names: string[];
  try {
    names = readdirSync(folder).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return noEntries;
    return unreadable(folder, error, "It must be a folder that you may read.");
  }
  return of(names);
}

function unreadable(path: string, error: unknown, hint: string): Entries {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ELOOP") return problem(path, "It is a link that leads to itself.", hint);
  if (code === "ENOENT") return problem(path, "It is not there.", hint);
  if (code === "ENOTDIR") return problem(path, "It is no folder.", hint);
  return problem(path, `It cannot be read: ${message}.`, hint);
}
