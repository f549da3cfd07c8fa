import type { Invocation } from "../invocation.ts";
export async function run(_invocation: Invocation): Promise<undefined> {}
