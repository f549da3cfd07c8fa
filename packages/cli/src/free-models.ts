import type { Model } from "@bonsai-agent/messages";
import { BonsaiError } from "@bonsai-agent/messages";
import { loadCatalogue } from "@bonsai-agent/models";
import { bonsaiHome } from "@bonsai-agent/session";
import type { CliIo } from "./io.ts";

/** Tells of `provider/model` whether its price is known to be 0. */
export type IsFree = (model: string) => boolean;

/** By the prices of a catalogue. */
export function freeAmong(models: readonly Model[]): IsFree {
  const free = new Set(models.filter(isFreeModel).map(({ provider, id }) => `${provider}/${id}`));
  return (model) => free.has(model);
}

export function isFreeModel({ usdPerMillionTokens: prices }: Model): boolean {
  return prices !== undefined && Object.values(prices).every((price) => price === 0);
}

/** For commands that need models for nothing else: who cannot read the user's models knows of none that is free. */
export async function freeModels({ env }: CliIo): Promise<IsFree> {
  try {
    const { models } = await loadCatalogue({ home: bonsaiHome({ ...env }), env });
    return freeAmong(models);
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    return () => false;
  }
}
