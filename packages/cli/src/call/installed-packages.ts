import { createHash } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import type { FindProblem } from "@bonsai-agent/extension/host";
import { textFile, writeWholeFile } from "@bonsai-agent/models/host";
import { z } from "zod";
import { findFirstParty, SHIPPED_PREFIX, shippedFolder } from "./first-party.ts";

// Each package has a record of its own: two installations at once have nothing to write over one another, and a record
// that is damaged takes no other package with it.

/** A name that a version's folder can have: it must not lead elsewhere. */
const folderName = z.string().regex(/^[^./\\][^/\\]*$/);

const record = z
  .strictObject({
    /** The npm name; of what has none, its path. */
    name: z.string().min(1),
    /** `npm:NAME` or `npm:NAME@VERSION`, `shipped:NAME` for a first-party extension, or an absolute path. */
    source: z
      .string()
      .refine((source) => source.startsWith("npm:") || isShipped(source) || isAbsolute(source)),
    version: z.string().optional(),
    /** The folder in the package's own that holds its files; absent for what is used where it lies. */
    copy: folderName.optional(),
    /** When it was first installed: packages load in that order. */
    addedAt: z.iso.datetime(),
  })
  .refine(({ source, copy }) => copy !== undefined || !source.startsWith("npm:"));

function isShipped(source: string): boolean {
  return source.startsWith(SHIPPED_PREFIX) && findFirstParty(shortName(source)) !== undefined;
}

function shortName(source: string): string {
  return source.slice(SHIPPED_PREFIX.length);
}

/** What is known about an installed package. */
export type PackageRecord = z.output<typeof record>;

export function packagesFolder(home: string): string {
  return join(home, "packages");
}

/** The folder of a package's versions. */
export function versionsFolder(home: string, name: string): string {
  return join(packagesFolder(home), fileName(name));
}

/** Names of npm stay readable; a path, which can hold anything, becomes its hash. */
function fileName(name: string): string {
  return isNpmName(name)
    ? name.replace("/", "+")
    : `path+${createHash("sha256").update(name).digest("hex").slice(0, 16)}`;
}

/** What npm allows, capitals of old packages too. */
export function isNpmName(name: string): boolean {
  return name.length <= 214 && /^(@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*$/i.test(name);
}

interface PackageRecords {
  /** In the order in which they were first installed. */
  records: readonly PackageRecord[];
  problems: readonly FindProblem[];
}

export function readRecords(home: string): PackageRecords {
  const records: PackageRecord[] = [];
  const problems: FindProblem[] = [];
  for (const file of recordFiles(packagesFolder(home))) {
    // Undefined if it was removed in this moment.
    const text = textFile(file);
    const read = text === undefined ? undefined : parsed(text);
    if (read !== undefined && recordFile(home, read.name) === file) records.push(read);
    else if (text !== undefined) problems.push(damaged(file));
  }
  records.sort((a, b) => order(a.addedAt, b.addedAt) || order(a.name, b.name));
  return { records, problems };
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function recordFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((file) => file.isFile() && file.name.endsWith(".json"))
      .map((file) => join(folder, file.name));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

function parsed(text: string): PackageRecord | undefined {
  try {
    return record.parse(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return undefined;
    throw error;
  }
}

function damaged(file: string): FindProblem {
  return {
    path: file,
    message: `${file} is damaged. Skipped its package.`,
    hint: "Delete the file and install the package again.",
  };
}

export function writeRecord(home: string, value: PackageRecord): void {
  writeWholeFile(recordFile(home, value.name), `${JSON.stringify(value, null, 2)}\n`);
}

export function deleteRecord(home: string, name: string): void {
  rmSync(recordFile(home, name), { force: true });
}

function recordFile(home: string, name: string): string {
  return `${versionsFolder(home, name)}.json`;
}

/** A package that `bonsai install` brought, or whose path it got. */
export interface InstalledPackage {
  /** The npm name; of what has none, its path. */
  name: string;
  /** Absolute: the folder with its files; of a lone module, the module itself. It may be gone. */
  folder: string;
  /** `npm:NAME` or `npm:NAME@VERSION`, `shipped:NAME`, or an absolute path. */
  source: string;
  /** Absent for a shipped extension: it has the command's version. */
  version?: string;
}

export interface InstalledPackages {
  /** In the order in which they were first installed, which is the order in which they load. */
  packages: readonly InstalledPackage[];
  /** Records that cannot be read. */
  problems: readonly FindProblem[];
}

/** The packages of a user, by the records in `<home>/packages`. */
export function installedPackages(home: string): InstalledPackages {
  const { records, problems } = readRecords(home);
  return { packages: records.map((record) => installedPackage(home, record)), problems };
}

export function installedPackage(
  home: string,
  { name, source, version, copy }: PackageRecord,
): InstalledPackage {
  const folder =
    copy === undefined ? sourceFolder(source) : join(versionsFolder(home, name), copy, "package");
  return { name, folder, source, ...(version === undefined ? {} : { version }) };
}

/** A shipped extension is looked up again each time: an update of the command may have moved it. */
function sourceFolder(source: string): string {
  return isShipped(source) ? (shippedFolder(shortName(source)) ?? source) : source;
}
