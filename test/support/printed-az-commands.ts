/** Every kind of `az` command that the program prints, and the case of the e2e suite that runs it as printed. */

interface PrintedCommand {
  /** Its words up to the first option. */
  readonly verb: string;
  /** The file of `test/e2e/azure-cli/` that runs it. */
  readonly by?: string;
  /** Why none does. */
  readonly why?: string;
}

export const PRINTED_AZ_COMMANDS: readonly PrintedCommand[] = [
  { verb: 'az login', by: 'azure-cli-page.e2e.ts' },
  { verb: 'az account show', by: 'azure-cli-page.e2e.ts' },
  { verb: 'az account get-access-token', by: 'azure-cli-page.e2e.ts' },
  { verb: 'az aks nodepool add', by: 'azure-cli-advice.e2e.ts' },
  { verb: 'az aks nodepool delete-machines', by: 'azure-cli-experiment.e2e.ts' },
  { verb: 'az aks nodepool scale', by: 'azure-cli-fixes.e2e.ts' },
  { verb: 'az aks nodepool update', by: 'azure-cli-advice.e2e.ts' },
  { verb: 'az aks show', by: 'azure-cli-documents.e2e.ts' },
  { verb: 'az aks update', by: 'azure-cli-documents.e2e.ts' },
  { verb: 'az identity create', by: 'azure-cli-documents.e2e.ts' },
  { verb: 'az identity show', by: 'azure-cli-documents.e2e.ts' },
  { verb: 'az identity federated-credential create', by: 'azure-cli-documents.e2e.ts' },
  { verb: 'az role assignment create', by: 'azure-cli-documents.e2e.ts' },
  { verb: 'az role definition create', by: 'azure-cli-documents.e2e.ts' },
  { verb: 'az role definition update', by: 'azure-cli-documents.e2e.ts' },
  { verb: 'az tag update', by: 'azure-cli-advice.e2e.ts' },
  { verb: 'az vmss delete-instances', by: 'azure-cli-experiment.e2e.ts' },
  { verb: 'az vmss list', by: 'azure-cli-documents.e2e.ts' },
  { verb: 'az vmss show', by: 'azure-cli-advice.e2e.ts' },
  { verb: 'az vmss update', by: 'azure-cli-advice.e2e.ts' },
  { verb: 'az vmss identity assign', why: 'its finding needs a machine without an identity, which signs in nowhere' },
  { verb: 'az monitor autoscale update', why: 'a world lists the rules of Azure Monitor, and takes no writes of them' },
  { verb: 'az ad sp credential reset', why: 'needs the directory (Microsoft Graph), which a world does not have' },
  { verb: 'az quota update', why: 'is a command of an extension, which is not part of the CLI' },
];
