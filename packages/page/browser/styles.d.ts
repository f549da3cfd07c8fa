/** Styles are bundled beside the program, and give it nothing. */
declare module "*.css" {}
