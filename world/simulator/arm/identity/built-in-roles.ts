/** The built-in roles that documents of AKS name, with their ids in every tenant (learn.microsoft.com, "Azure built-in roles"). A data table. */

export interface RolePermissions {
  readonly actions: readonly string[];
  readonly notActions: readonly string[];
  readonly dataActions: readonly string[];
  readonly notDataActions: readonly string[];
}

export interface BuiltInRole {
  readonly id: string;
  readonly name: string;
  readonly permissions: RolePermissions;
}

/** Everything except granting access. */
export const CONTRIBUTOR: RolePermissions = {
  actions: ['*'],
  notActions: [
    'Microsoft.Authorization/*/Delete',
    'Microsoft.Authorization/*/Write',
    'Microsoft.Authorization/elevateAccess/Action',
    'Microsoft.Blueprint/blueprintAssignments/write',
    'Microsoft.Blueprint/blueprintAssignments/delete',
    'Microsoft.Compute/galleries/share/action',
  ],
  dataActions: [],
  notDataActions: [],
};

/** What most roles of one service also have. */
const USUAL = [
  'Microsoft.Authorization/*/read',
  'Microsoft.Insights/alertRules/*',
  'Microsoft.Resources/deployments/*',
  'Microsoft.Resources/subscriptions/resourceGroups/read',
  'Microsoft.Support/*',
];

function allowing(...actions: readonly string[]): RolePermissions {
  return { actions, notActions: [], dataActions: [], notDataActions: [] };
}

export const BUILT_IN_ROLES: readonly BuiltInRole[] = [
  { id: '8e3af657-a8ff-443c-a75c-2fe8c4bcb635', name: 'Owner', permissions: allowing('*') },
  { id: 'b24988ac-6180-42a0-ab88-20f7382dd24c', name: 'Contributor', permissions: CONTRIBUTOR },
  { id: 'acdd72a7-3385-48ef-bd42-f606fba81ae7', name: 'Reader', permissions: allowing('*/read') },
  {
    id: '4d97b98b-1d4f-4787-a291-c67834d212e7',
    name: 'Network Contributor',
    permissions: allowing(...USUAL, 'Microsoft.Network/*', 'Microsoft.ResourceHealth/availabilityStatuses/read'),
  },
  {
    id: '43d0d8ad-25c7-4714-9337-8ba259a9fe05',
    name: 'Monitoring Reader',
    permissions: allowing('*/read', 'Microsoft.OperationalInsights/workspaces/search/action', 'Microsoft.Support/*'),
  },
  {
    id: 'e82342c9-ac7f-422b-af64-e426d2e12b2d',
    name: 'Compute Recommendations Role',
    permissions: allowing('Microsoft.Compute/locations/placementScores/generate/action'),
  },
  {
    id: 'f1a07417-d97a-45cb-824c-7a7467783830',
    name: 'Managed Identity Operator',
    permissions: allowing(
      ...USUAL,
      'Microsoft.ManagedIdentity/userAssignedIdentities/*/read',
      'Microsoft.ManagedIdentity/userAssignedIdentities/*/assign/action',
    ),
  },
];
