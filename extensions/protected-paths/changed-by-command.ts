import { readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename } from "node:path";
import { isReadOnly } from "@bonsai-agent/permission-gate/read-only";
import {
  readLine,
  type ShellCommand,
  type ShellWord,
  UnreadableLine,
} from "@bonsai-agent/permission-gate/shell-line";
import { absolutePath, pathMatcher } from "./rules.ts";

/** A path that a tool call changes, or may change. */
export interface ChangedPath {
  /** As written in the call. */
  path: string;
  /** The folder that relative paths start from. */
  cwd: string;
  /** True if a folder changes with everything in it. */
  isWhole: boolean;
  /** True if the call surely changes it. */
  isSure: boolean;
  /** With `isWhole`: only entries with names that match. Default: all */
  isMeant?: ((name: string) => boolean) | undefined;
}

type Changed = Omit<ChangedPath, "cwd">;

/** Programs that change every file they are given. */
const WRITERS = new Set(
  "rm mv ln rmdir unlink shred truncate touch tee chmod chown chgrp mkdir mkfifo setfacl gunzip gzip bzip2 xz zstd ed ex".split(
    " ",
  ),
);
const COPIERS = new Set("cp mv ln install rsync scp ditto".split(" "));
/** Commands that read the files they name. Reading is free. */
const READERS = /^(?:source|\.|git (?:add|commit|push|fetch|tag|branch))$/;

/** The paths that a line of shell changes or may change: those that it names outside of reading commands. */
export function changedByCommand(line: string, cwd: string): ChangedPath[] {
  let commands: ShellCommand[];
  try {
    commands = readLine(line);
    if (commands.some(({ words }) => /^(?:xargs|parallel)$/.test(words[0]?.text ?? "")))
      throw new UnreadableLine("it takes arguments from a pipe");
  } catch (error) {
    if (!(error instanceof UnreadableLine)) throw error;
    const folders = [...line.matchAll(/\b(?:cd|pushd)\s+["']?([^\s"';&|)]+)/g)].map(([, folder]) => folder!);
    return inPlaces(named(line), [cwd, ...folders.map((folder) => absolutePath(cwd, folder))]);
  }
  const places = [cwd];
  return commands.flatMap((command) => {
    const [program, folder] = command.words;
    if (folder !== undefined && /^(?:cd|pushd)$/.test(program!.text))
      places.push(absolutePath(places.at(-1)!, folder.text));
    return inPlaces(changedBy(command, places.at(-1)!), places);
  });
}

/** A `cd` may fail, so every folder may be meant. */
function inPlaces(changed: readonly Changed[], places: readonly string[]): ChangedPath[] {
  return [...new Set(places)].flatMap((cwd) =>
    changed.flatMap((each) => expanded(each.path, cwd).map((path) => ({ ...each, path, cwd }))),
  );
}

function changedBy({ after, words, writes }: ShellCommand, cwd: string): Changed[] {
  const [program, ...rest] = words;
  const args = rest.filter(
    ({ text }, at) => !/^--env-file/.test(text) && rest[at - 1]?.text !== "--env-file",
  );
  const name = basename(program?.text ?? "");
  const written = writes.map(({ text }) => ({ path: text, isWhole: false, isSure: true }));
  const isReader = READERS.test(name) || READERS.test(`${name} ${args[0]?.text}`);
  if (isReader || isReadOnly({ after, words, writes: [] })) return written;
  if (name === "find") return [...written, ...changedByFind(args)];
  const isSure = WRITERS.has(name) || COPIERS.has(name);
  const files = args.filter(({ text }) => !text.startsWith("-"));
  const isPlainCopy = name === "cp" && !args.some(({ text }) => /^-(?:t|-target)/.test(text));
  const all = (isPlainCopy ? files.slice(-1) : args).map(({ text }) => text);
  const isWhole = (path: string) => name === "rm" || (name === "mv" && path !== files.at(-1)?.text);
  return [
    ...written,
    ...all.flatMap(named),
    ...all.filter((path) => !path.startsWith("-")).map((path) => ({ path, isWhole: isWhole(path), isSure })),
    ...(COPIERS.has(name) ? copied(files, cwd) : []).map((path) => ({ path, isWhole: false, isSure })),
    ...(name === "git" && args.some(({ text }) => text === "clean") ? [whole(".")] : []),
  ];
}

const whole = (path: string, isMeant?: Changed["isMeant"]): Changed => ({
  path,
  isWhole: true,
  isSure: true,
  isMeant,
});

/** The new names of copied files, if the target is a folder. */
function copied(files: readonly ShellWord[], cwd: string): string[] {
  const isFolder = (path: string) =>
    statSync(absolutePath(cwd, path), { throwIfNoEntry: false })?.isDirectory() === true;
  return files
    .filter(({ text }) => isFolder(text))
    .flatMap(({ text }) =>
      files.filter((file) => file.text !== text).map((file) => `${text}/${basename(file.text)}`),
    );
}

/** Without names to look for, everything in the folders may change. */
function changedByFind(args: readonly ShellWord[]): Changed[] {
  const texts = args.map(({ text }) => text);
  if (readsOnly(args)) return [];
  const begin = texts.findIndex((text) => /^[-!(]/.test(text));
  const folders = begin === 0 ? ["."] : texts.slice(0, begin);
  const names = texts.filter((_, at) => /^-i?name$/.test(texts[at - 1] ?? ""));
  const isFiltered = names.length > 0 && !texts.some((text) => /^(?:!|-not|-o|-or)$/.test(text));
  const matchers = names.map(pathMatcher);
  const isMeant = isFiltered ? (name: string) => matchers.some((isMatch) => isMatch(name)) : undefined;
  return [
    ...folders.map((folder) => whole(folder, isMeant)),
    ...names.map((path) => ({ path, isWhole: false, isSure: true })),
  ];
}

/** True if `find` runs only reading programs. */
function readsOnly(args: readonly ShellWord[]): boolean {
  const rest: ShellWord[] = [];
  for (let at = 0; at < args.length; at++) {
    const end = args.findIndex(({ text }, each) => each > at && /^[;+]$/.test(text));
    const words = args.slice(at + 1, end);
    if (/^-exec(?:dir)?$/.test(args[at]!.text) && isReadOnly({ after: "", words, writes: [] })) at = end;
    else rest.push(args[at]!);
  }
  return isReadOnly({ after: "", words: [{ text: "find", isPattern: false }, ...rest], writes: [] });
}

/** Everything in a text that may be a path: in code, in options, in lines that nobody can read surely. */
function named(text: string): Changed[] {
  const pieces = text
    .split(/[\s'"`;&|()<>]+/)
    .flatMap((piece) => braces(piece))
    .flatMap((piece) => [...piece.split(/[=,:]/), piece.replace(/^-\w/, ""), piece]);
  return [...new Set(pieces)]
    .filter((path) => path !== "")
    .map((path) => ({ path, isWhole: false, isSure: false }));
}

/** The paths that the shell makes of a word. */
function expanded(text: string, cwd: string): string[] {
  const path = text.replaceAll(/\$(?:HOME\b|\{HOME\})/g, homedir()).replaceAll(/\$(?:PWD\b|\{PWD\})/g, ".");
  return /[*?[]/.test(path) ? [path, ...matches(path, cwd)] : [path];
}

function braces(text: string, depth = 0): string[] {
  const match = /^(.*?)\{([^{}]*,[^{}]*)\}(.*)$/s.exec(text);
  if (match === null || depth > 4) return [text];
  const [, before = "", inner = "", after = ""] = match;
  return inner.split(",").flatMap((each) => braces(`${before}${each}${after}`, depth + 1));
}

/** A pattern with more matches is refused. */
const MAX_MATCHES = 5_000;

/** The files that a path with wildcards names. */
function matches(path: string, cwd: string): string[] {
  const isRooted = path.startsWith("/");
  const parts = path.split("/").slice(isRooted ? 1 : 0);
  let found = [isRooted ? "/" : ""];
  for (const name of parts) {
    found = found.flatMap((folder) => children(folder, name, cwd));
    if (found.length > MAX_MATCHES) {
      throw new Error(`${path} matches more than ${MAX_MATCHES} paths. Use a narrower pattern.`);
    }
  }
  return found;
}

function children(folder: string, part: string, cwd: string): string[] {
  const under = (name: string) =>
    folder === "" || folder === "/" ? `${folder}${name}` : `${folder}/${name}`;
  if (!/[*?[]/.test(part)) return [under(part)];
  const isMatch = pathMatcher(part);
  const isHidden = part.startsWith(".");
  try {
    const names = readdirSync(absolutePath(cwd, folder === "" ? "." : folder));
    return names.filter((name) => isMatch(name) && name.startsWith(".") === isHidden).map(under);
  } catch {
    // Without a folder, the shell leaves the word unchanged.
    return [];
  }
}
