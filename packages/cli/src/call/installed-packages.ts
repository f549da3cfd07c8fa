import { createHash } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import type { FindProblem } from "@bonsai-agent/extension/host";
import { textFile, writeWholeFile } from "@bonsai-agent/models/host";
import { z } from "zod";
import { findFirstParty, SHIPPED_PREFIX, shippedFolder } from "./first-party.ts";

// Each package has its own record file, so that two installations do not overwrite each other.
const recordSchema = z.object({
  /** The npm name; the path of a package without one. */
  name: z.string().min(1),
  /** `npm:NAME` or `npm:NAME@VERSION`, `shipped:NAME` for a first-party extension, or an absolute path. */
  source: z.string().refine((source) => source.startsWith("npm:") || isShipped(source) || isAbsolute(source)),
  version: z.string().optional(),
  /** When it was first installed: packages load in that order. */
  addedAt: z.iso.datetime(),
});

function isShipped(source: string): boolean {
  return source.startsWith(SHIPPED_PREFIX) && findFirstParty(shortName(source)) !== undefined;
}

function shortName(source: string): string {
  return source.slice(SHIPPED_PREFIX.length);
}

export type PackageRecord = z.output<typeof recordSchema>;

export function packagesFolder(home: string): string {
  return join(home, "packages");
}

/** npm's folder for a package. */
export function copyFolder(home: string, name: string): string {
  return join(packagesFolder(home), fileName(name));
}

/** An npm name stays readable. A path, which can contain any character, becomes its hash. */
function fileName(name: string): string {
  return isNpmName(name)
    ? name.replace("/", "+")
    : `path+${createHash("sha256").update(name).digest("hex").slice(0, 16)}`;
}

/** Allows capitals too: old packages have them. */
export function isNpmName(name: string): boolean {
  return name.length <= 214 && /^(@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*$/i.test(name);
}

interface PackageRecords {
  records: readonly PackageRecord[];
  problems: readonly FindProblem[];
}

export function readRecords(home: string): PackageRecords {
  const records: PackageRecord[] = [];
  const problems: FindProblem[] = [];
  for (const file of recordFiles(packagesFolder(home))) {
    // Undefined if another process has just removed it.
    const text = textFile(file);
    const read = text === undefined ? undefined : parseRecord(text);
    if (read !== undefined && recordFile(home, read.name) === file) records.push(read);
    else if (text !== undefined)
      problems.push({
        path: file,
        message: `${file} is damaged. Skipped its package.`,
        hint: "Delete the file and install the package again.",
      });
  }
  records.sort((a, b) => (`${a.addedAt} ${a.name}` < `${b.addedAt} ${b.name}` ? -1 : 1));
  return { records, problems };
}

function recordFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".json"))
      .map((name) => join(folder, name));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

function parseRecord(text: string): PackageRecord | undefined {
  try {
    return recordSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export function writeRecord(home: string, value: PackageRecord): void {
  writeWholeFile(recordFile(home, value.name), `${JSON.stringify(value, null, 2)}\n`);
}

export function deleteRecord(home: string, name: string): void {
  rmSync(recordFile(home, name), { force: true });
}

function recordFile(home: string, name: string): string {
  return `${copyFolder(home, name)}.json`;
}

export interface InstalledPackage {
  name: string;
  /** Absolute: the folder with its files, or the lone module. It may be gone. */
  folder: string;
  source: string;
  /** Absent for a shipped extension: it has the command's version. */
  version?: string;
}

export interface InstalledPackages {
  /** In load order, which is the order of their first installation. */
  packages: readonly InstalledPackage[];
  problems: readonly FindProblem[];
}

/** The packages of a user, by the records in `<home>/packages`. */
export function installedPackages(home: string): InstalledPackages {
  const { records, problems } = readRecords(home);
  return { packages: records.map((record) => installedPackage(home, record)), problems };
}

/** An update of the command can move a shipped extension, so its folder is found each time. */
export function installedPackage(home: string, { name, source, version }: PackageRecord): InstalledPackage {
  const folder = source.startsWith("npm:")
    ? join(copyFolder(home, name), "package")
    : isShipped(source)
      ? (shippedFolder(shortName(source)) ?? source)
      : source;
  return { name, folder, source, ...(version === undefined ? {} : { version }) };
}
