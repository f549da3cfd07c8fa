import { readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename } from "node:path";
import { type ShellCommand, type ShellWord, shellCommands } from "@bonsai-agent/extension/shell";
import { absolutePath } from "./absolute-path.ts";
import { pathMatcher } from "./rules.ts";

/** A path that a call of a tool changes. */
export interface ChangedPath {
  /** As it was said. */
  path: string;
  /** Where a relative one begins. */
  cwd: string;
  /** True where a folder goes with all that is in it. */
  isWhole: boolean;
}

/** Programs that change every file they are given. */
const ALL = new Set(
  "rmdir unlink shred truncate touch tee chmod chown chgrp mkdir mkfifo setfacl gunzip gzip bzip2 xz zstd ex ed".split(
    " ",
  ),
);
/** Programs that write the last one, or what stands behind `-t`. */
const LAST = new Set("cp install ln rsync scp ditto".split(" "));
/** Options whose value is a file that is written. */
const OUTPUTS: Readonly<Record<string, RegExp>> = {
  curl: /^(?:-o|--output)(?:=(.+))?$/,
  wget: /^(?:-O|--output-document)(?:=(.+))?$/,
  sort: /^(?:-o|--output)(?:=(.+))?$/,
  dd: /^of=(.+)$/,
};
const IN_PLACE: Readonly<Record<string, RegExp>> = {
  sed: /^(?:-[a-zA-Z]*i.*|--in-place.*)$/,
  gsed: /^(?:-[a-zA-Z]*i.*|--in-place.*)$/,
  perl: /^-[a-zA-Z0]*i/,
  ruby: /^-[a-zA-Z]*i/,
  awk: /^inplace$/,
  gawk: /^inplace$/,
  prettier: /^(?:-w|--write)$/,
};

/** What a line of shell would change, as far as its words say. */
export function changedByCommand(line: string, cwd: string): ChangedPath[] {
  let here = cwd;
  return shellCommands(line).flatMap((command) => {
    const [folder] = command.name === "cd" || command.name === "pushd" ? operands(command.args) : [];
    if (folder !== undefined) here = absolutePath(here, expandHome(folder.text));
    // A subshell's `cd` ends with it: both places may be meant.
    const places = here === cwd ? [cwd] : [cwd, here];
    return places.flatMap((place) => changedBy(command, place));
  });
}

interface Changed {
  word: ShellWord;
  isWhole: boolean;
}

function changedBy(command: ShellCommand, cwd: string): ChangedPath[] {
  const written = command.redirects
    .filter(({ operator }) => operator !== "<")
    .map(({ target }) => part(target));
  return [...written, ...wordsChanged(command, cwd)].flatMap(({ word, isWhole }) =>
    expanded(word, cwd).map((path) => ({ path, cwd, isWhole })),
  );
}

const part = (word: ShellWord): Changed => ({ word, isWhole: false });
const whole = (word: ShellWord): Changed => ({ word, isWhole: true });

function wordsChanged({ name, args }: ShellCommand, cwd: string): Changed[] {
  const files = operands(args);
  if (name === "rm") return files.map(whole);
  if (name === "mv") return [...files.slice(0, -1).map(whole), ...targets(args, files, cwd).map(part)];
  if (ALL.has(name)) return files.map(part);
  if (LAST.has(name)) return targets(args, files, cwd).map(part);
  if (name === "git") return changedByGit(args);
  if (name === "find") return changedByFind(args);
  const inPlace = Object.hasOwn(IN_PLACE, name) ? IN_PLACE[name] : undefined;
  if (inPlace !== undefined) return args.some(({ text }) => inPlace.test(text)) ? files.map(part) : [];
  const output = Object.hasOwn(OUTPUTS, name) ? OUTPUTS[name] : undefined;
  return output === undefined ? [] : outputs(args, output).map(part);
}

/** Where copies go: a folder gets them by their names. */
function targets(args: readonly ShellWord[], files: readonly ShellWord[], cwd: string): ShellWord[] {
  const option = args.findIndex(({ text }) => text === "-t" || text === "--target-directory");
  const target = option === -1 ? files.at(-1) : args[option + 1];
  if (target === undefined) return [];
  const place = absolutePath(cwd, expandHome(target.text));
  if (!statSync(place, { throwIfNoEntry: false })?.isDirectory()) return [target];
  const sources = files.filter((file) => file !== target);
  return [target, ...sources.map((file) => ({ ...target, text: `${target.text}/${basename(file.text)}` }))];
}

function changedByGit(args: readonly ShellWord[]): Changed[] {
  const [command, ...files] = operands(args[0]?.text === "-C" ? args.slice(2) : args);
  const dashes = args.findIndex(({ text }) => text === "--");
  switch (command?.text) {
    case "rm":
      return files.map(whole);
    case "mv":
    case "restore":
      return files.map(part);
    case "checkout":
      return dashes === -1 ? [] : args.slice(dashes + 1).map(part);
    default:
      return [];
  }
}

/** With names to look for, it is those that count; else all that lies in the folders. */
function changedByFind(args: readonly ShellWord[]): Changed[] {
  if (!args.some(({ text }) => /^(?:-delete|rm|mv|shred|truncate)$/.test(text))) return [];
  const names = args.filter((_, at) => /^-i?(?:name|path|wholename)$/.test(args[at - 1]?.text ?? ""));
  if (names.length > 0) return names.map(part);
  const begin = args.findIndex(({ text }) => text.startsWith("-"));
  const folders = args.slice(0, begin);
  return folders.length === 0 ? [whole({ text: ".", isPlain: true, substitutions: [] })] : folders.map(whole);
}

function outputs(args: readonly ShellWord[], option: RegExp): ShellWord[] {
  return args.flatMap((word, at) => {
    const match = option.exec(word.text);
    if (match === null) return [];
    const value = match[1] === undefined ? args[at + 1] : { ...word, text: match[1] };
    return value === undefined ? [] : [value];
  });
}

/** What is no option; all that stands behind `--`. */
function operands(args: readonly ShellWord[]): ShellWord[] {
  const dashes = args.findIndex(({ text }) => text === "--");
  const before = dashes === -1 ? args : args.slice(0, dashes);
  const rest = dashes === -1 ? [] : args.slice(dashes + 1);
  return [...before.filter(({ text }) => !text.startsWith("-")), ...rest];
}

/** The paths that the shell makes of a word. */
function expanded({ text, isPlain }: ShellWord, cwd: string): string[] {
  const paths = isPlain ? braces(text) : [text];
  return paths
    .map(expandHome)
    .flatMap((path) => (isPlain && /[*?[]/.test(path) ? [path, ...matches(path, cwd)] : [path]));
}

function expandHome(text: string): string {
  return text.replaceAll(/\$(?:HOME\b|\{HOME\})/g, homedir()).replaceAll(/\$(?:PWD\b|\{PWD\})/g, ".");
}

function braces(text: string, depth = 0): string[] {
  const match = /^(.*?)\{([^{}]*,[^{}]*)\}(.*)$/s.exec(text);
  if (match === null || depth > 4) return [text];
  const [, before = "", inner = "", after = ""] = match;
  return inner.split(",").flatMap((each) => braces(`${before}${each}${after}`, depth + 1));
}

/** The files that a path with wildcards names. */
/** A command on more of them is not looked through, and so not let through. */
const MAX_MATCHES = 5_000;

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
    // No folder: the shell leaves the word as it is.
    return [];
  }
}
