import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Each takes longer than its size suggests, most of it waiting for processes or time limits. */
const SLOWEST: readonly string[] = [
  "scripts/test/packed-cli.test.ts",
  "scripts/test/reference.test.ts",
  "packages/cli/test/terminal/live-pty.test.ts",
  "packages/cli/test/agent-process.test.ts",
  "packages/cli/test/process.test.ts",
];

/** Starts the slowest files of each project first. Without the times of an earlier run, vitest starts the largest. */
export default class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Workers load the modules of one project. Files of projects in turn would start more workers.
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project.name);
    return [...projects.values()].flatMap((sorted) => [
      ...sorted.filter(isSlow),
      ...sorted.filter((file) => !isSlow(file)),
    ]);
  }
}

function isSlow({ moduleId }: TestSpecification): boolean {
  return SLOWEST.some((file) => moduleId.endsWith(`/${file}`));
}
