import type { TestProject } from "vitest/node";
import { type ChromiumProgram, chromiumProgram } from "./chromium.ts";

/** Unpacks the browser once for all files that open one. */
export default async function setup(project: TestProject): Promise<void> {
  project.provide("chromium", await chromiumProgram());
}

declare module "vitest" {
  export interface ProvidedContext {
    chromium: ChromiumProgram;
  }
}
