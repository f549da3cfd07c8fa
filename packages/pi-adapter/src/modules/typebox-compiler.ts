import { Compile } from "typebox/compile";

export { Compile };

/** The name that older versions of TypeBox have for `Compile`. */
export const TypeCompiler = { Compile };
