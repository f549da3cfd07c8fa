import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { loadCatalogue } from "../src/catalogue/catalogue.ts";

export function homeWith(models?: unknown): string {
  const home = mkdtempSync(join(tmpdir(), "bonsai-catalogue-"));
  if (models !== undefined)
    writeFileSync(join(home, "models.json"), typeof models === "string" ? models : JSON.stringify(models));
  return home;
}

export const load = (models?: unknown, env = {}) => loadCatalogue({ home: homeWith(models), env });

export async function failure(work: Promise<unknown>): Promise<BonsaiError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!BonsaiError.is(error)) throw new Error(`No BonsaiError: ${String(error)}`);
  return error;
}
